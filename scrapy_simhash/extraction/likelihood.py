"""Estimates for each line of a page how likely it is main text.

Two logistic regressions. The first one looks at a line and at the elements around it. The second
one looks at what the first one found: of the line, of the lines beside it, of those that are set
like it, and of the part of the page that holds most of the likely text. So a line is judged by
its company, and one paragraph more or less moves little.

``benchmarks/fit.py`` fits the weights to pages whose main text people marked. All features
count bytes, marks and elements, because words would tie them to a language.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction import roles
from scrapy_simhash.extraction.outline import Floats, Ints, Outline

#: A shorter line weighs less than its bytes: it may be a label, a byline, a link.
FULL_LINE = 80
#: The most bytes of a line that count where lines are compared.
LONGEST_LINE = 400
POWER = 1.5
#: Bytes of likely text outside elements of doubtful names that make the text in these less likely:
#: comments are main text only where there is no article.
ENOUGH = 1000

_DOUBTFUL = roles.DOUBTFUL | roles.COMMENT
#: The roles that the first look knows, in the order of its weights.
ROLES = np.array(
    [
        roles.NAVIGATION,
        roles.FOOTER,
        roles.ASIDE,
        roles.HEADER,
        roles.CAPTION,
        roles.DIALOG,
        roles.HIDDEN,
        roles.NOTICE,
        _DOUBTFUL,
        roles.LINK,
        roles.UNLIKELY,
        roles.SUBHEADING,
        roles.ITEM,
    ]
)
#: Lines of these roles weigh less where lines are compared.
_LIGHT = (roles.AGAINST | roles.COMMENT | roles.LINK) & ~roles.UNLIKELY


class Lines(NamedTuple):
    """The lines of a page that may be main text, one number each in every array.

    Attributes:
        numbers: their numbers among all lines.
        places: the element that a line stands in, by its number in the outline.
        sizes: bytes in UTF-8, without spaces.
        linked: the share of it in links.
        marks: how many marks of punctuation it has.
        ends: whether it ends as a sentence does.
        below_heading: whether it comes after the first ``h1``, if there is one.
        above_heading: whether it comes before that.
    """

    numbers: Ints
    places: Ints
    sizes: Floats
    linked: Floats
    marks: Ints
    ends: npt.NDArray[np.bool_]
    below_heading: npt.NDArray[np.bool_]
    above_heading: npt.NDArray[np.bool_]


def likelihoods(lines: Lines, outline: Outline) -> Floats:
    """Return for each line how likely it is, as log odds."""
    groups = outline.groups(lines.places)
    first = _FIRST @ first_look(lines, outline, groups) + _FIRST_BIAS
    return _SECOND @ second_look(lines, outline, groups, first) + _SECOND_BIAS


def first_look(lines: Lines, outline: Outline, groups: Ints) -> Floats:
    """Return what a line and the elements around it tell: a row for each feature.

    Args:
        lines: at least one.
        outline: of their page.
        groups: of each line, see :meth:`Outline.groups`.
    """
    places, sizes = lines.places, lines.sizes
    own_roles = outline.roles[places]
    text = sizes * (1 - lines.linked)
    upto = text.cumsum()
    total = text.sum() + 1
    rest = total - upto
    weights = np.minimum(1, sizes / FULL_LINE) * text * np.where(own_roles & _LIGHT, 0.1, 1)
    manners = outline.manners[places]
    since = upto - upto.max(where=lines.above_heading, initial=0)
    held = np.bincount(groups, text)[groups]
    other = _rows(
        len(places),
        np.bincount(manners, weights)[manners] / (weights.sum() + 1),
        np.log2(np.bincount(manners)[manners]),
        lines.above_heading,
        lines.below_heading / (1 + np.maximum(since, 0) / 500),
        rest / total,
        np.minimum(upto - text, rest) < 0.03 * total,
        np.log2(total),
        np.minimum(np.log2(sizes), np.log2(FULL_LINE)),
        lines.linked,
        np.minimum(lines.marks, 3),
        lines.ends,
        held / np.bincount(groups, sizes)[groups],
        np.log2(1 + held / np.bincount(groups)[groups]),
    )
    return np.concatenate((own_roles & ROLES[:, None] > 0, other))


def second_look(lines: Lines, outline: Outline, groups: Ints, first: Floats) -> Floats:
    """Return what the first look's log odds tell of each line's company: a row for each feature."""
    places, sizes = lines.places, lines.sizes
    likely = 1 / (1 + np.exp(-first))
    weights = np.minimum(sizes, LONGEST_LINE)
    gains = weights * likely
    total = gains.sum()
    doubtful = (outline.roles[places] & _DOUBTFUL) > 0
    manners = outline.manners
    long = gains[sizes >= FULL_LINE].sum() / total
    own = np.bincount(groups, np.minimum(1, sizes / FULL_LINE) * sizes * likely, len(manners))
    weight = outline.sums(np.power(own, POWER))
    # Elements with more than half of the weight lie in each other; the last one is the innermost.
    area = int(np.flatnonzero(weight > weight[0] / 2)[-1])
    distances = outline.distances(area)[places]
    found = np.bincount(distances, sizes * likely).cumsum()
    all_bytes = np.bincount(distances, sizes).cumsum()
    share = (found[0] / found)[distances]
    return _rows(
        len(places),
        likely,
        _mean(manners[places], weights, gains),
        _mean(manners[groups], weights, gains),
        _mean_beside(1, weights, gains),
        _mean_beside(4, weights, gains),
        total / weights.sum(),
        likely.max(),
        long * likely,
        1 / (1 + distances),
        distances == 0,
        share,
        long * share,
        (found / all_bytes)[distances],
        weight[groups] / weight[0],
        doubtful * min(1, gains[~doubtful].sum() / ENOUGH),
    )


def _rows(count: int, *rows: npt.ArrayLike) -> Floats:
    """Return rows as a matrix; a row is one number for all of it, or as many as there are lines."""
    matrix = np.empty((len(rows), count))
    for into, row in zip(matrix, rows, strict=True):
        into[:] = row
    return matrix


def _mean(kinds: Ints, weights: Floats, gains: Floats) -> Floats:
    """Return for each line the mean likelihood of the lines of its kind."""
    return (np.bincount(kinds, gains) / np.maximum(np.bincount(kinds, weights), 1e-9))[kinds]


def _mean_beside(most: int, weights: Floats, gains: Floats) -> Floats:
    """Return for each line the mean likelihood of its neighbours.

    Args:
        most: the number of lines before it, and of lines after it.
        weights: of each line.
        gains: the weights, times the likelihoods.
    """
    window = np.ones(2 * most + 1)
    window[most] = 0  # the line is not beside itself
    inner = slice(most, most + len(gains))
    likely = np.correlate(gains, window, "full")[inner]
    return (likely + 0.2) / (np.correlate(weights, window, "full")[inner] + 1)


# In the order of the rows of the two looks.
_FIRST_BIAS = -0.091
_FIRST = np.array(
    [
        -0.581,  # in navigation
        -2.38,  # in a footer
        -1.62,  # in an aside
        -0.114,  # in a header
        -0.472,  # in a caption
        -1.69,  # in a dialog
        -0.88,  # hidden
        -3.64,  # in a notice
        -1.13,  # in an element whose name is doubtful
        -0.978,  # in a link
        -0.522,  # in an element whose name is unlikely
        0.646,  # a heading of a section
        0.28,  # an item of a list
        3.27,  # share of the page's text in lines made alike
        0.15,  # lines made alike, as a logarithm
        -1.82,  # above the heading
        0.493,  # below the heading, the nearer the more
        1.5,  # share of the page's text after it
        -0.756,  # among the first or last 3% of the text
        -0.163,  # text of the page, as a logarithm
        -0.0472,  # its size, as a logarithm
        -0.782,  # share of it in links
        0.075,  # marks of punctuation
        0.667,  # ends as a sentence does
        0.462,  # share of its group's bytes outside links
        0.0625,  # mean text of its group's lines, as a logarithm
    ]
)
_SECOND_BIAS = 0.885
_SECOND = np.array(
    [
        1.1,  # its own likelihood
        1.27,  # the mean of lines made alike
        0.654,  # the mean of lines whose group is made alike
        1.36,  # the mean of the lines before and after it
        0.43,  # the mean of four lines before and four after it
        -1.08,  # the mean of the page
        -4.68,  # the highest of the page
        0.992,  # its own, by the share of long lines in the likely text
        1.52,  # near the area of most likely text
        0.547,  # in that area
        -1.14,  # share of that area in the likely text as far out as this line
        -0.598,  # the same, by the share of long lines
        1.82,  # the mean of the text as far out as this line
        0.786,  # share of its group in the page's weight
        -0.92,  # in an element of a doubtful name, by the likely text outside of them
    ]
)
