"""Estimates for each line of a page how likely it is main text.

Two logistic regressions. The first one looks at a line and at the elements around it.
The second one looks at what the first one found: of the line, of the lines beside it,
of those that are set like it, and of the part of the page that holds most of the likely
text. So a line is judged by its company, and one paragraph more or less moves little.

``benchmarks/fit.py`` fits the weights to pages whose main text people marked. All
features count bytes, marks and elements, because words would tie them to a language.
"""

import re

import numpy as np
import numpy.typing as npt

from scrapy_simhash.extraction import roles
from scrapy_simhash.extraction.outline import Floats, Ints
from scrapy_simhash.extraction.page import Page

#: A shorter line weighs less than its bytes: it may be a label, a byline, a link.
FULL_LINE = 80
#: The most bytes of a line that count where lines are compared.
LONGEST_LINE = 400
POWER = 1.5
#: Bytes of likely text outside elements of doubtful names that make the text in these
#: less likely: comments are main text only where there is no article.
ENOUGH = 1000

_MARK = re.compile("[,.;:!?，、。；：！？]")
_ENDS = tuple('.:!?。；：！？…"”’」』')
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
        _DOUBTFUL,
        roles.LINK,
        roles.UNLIKELY,
        roles.SUBHEADING,
        roles.ITEM,
    ]
)
#: Lines of these roles weigh less where lines are compared.
_LIGHT = (roles.AGAINST | roles.COMMENT | roles.LINK) & ~roles.UNLIKELY


def likelihoods(page: Page, numbers: Ints) -> Floats:
    """Return for some lines of a page how likely each is main text, as log odds."""
    first = _FIRST @ first_look(page, numbers) + _FIRST_BIAS
    return _SECOND @ second_look(page, numbers, first) + _SECOND_BIAS


def first_look(page: Page, numbers: Ints) -> Floats:
    """Return what some lines and the elements around them tell: a row for each feature.

    Args:
        page: the page.
        numbers: of its lines; at least one.
    """
    sizes = page.sizes[numbers]
    texts = [page.texts[number] for number in numbers.tolist()]
    linked = np.minimum(page.linked[numbers] / page.lengths[numbers], 1)
    text = sizes * (1 - linked)
    groups = page.outline.groups(page.places[numbers])
    held = np.bincount(groups, text)[groups]
    other = _rows(
        len(numbers),
        *_about_place(page, numbers, text),
        np.minimum(np.log2(sizes), np.log2(FULL_LINE)),
        linked,
        [len(_MARK.split(text, 3)) - 1 for text in texts],
        [text.endswith(_ENDS) for text in texts],
        held / np.bincount(groups, sizes)[groups],
        np.log2(1 + held / np.bincount(groups)[groups]),
    )
    return np.concatenate((page.roles[numbers] & ROLES[:, None] > 0, other))


def _about_place(page: Page, numbers: Ints, text: Floats) -> list[npt.ArrayLike]:
    """Return what lines made alike, the heading, and the text before and after tell of lines."""
    weights = np.minimum(1, page.sizes[numbers] / FULL_LINE) * text
    weights *= np.where(page.roles[numbers] & _LIGHT, 0.1, 1)
    manners = page.manners[numbers]
    heading = page.heading_line
    above = numbers < (heading or 0)
    upto, total = text.cumsum(), text.sum() + 1
    rest = total - upto
    since = np.maximum(upto - upto.max(where=above, initial=0), 0)
    return [
        np.bincount(manners, weights)[manners] / (weights.sum() + 1),
        np.log2(np.bincount(manners)[manners]),
        above,
        (heading is not None and ~above) / (1 + since / 500),
        rest / total,
        np.minimum(upto - text, rest) < 0.03 * total,
        np.log2(total),
    ]


def second_look(page: Page, numbers: Ints, first: Floats) -> Floats:
    """Return what the first look's log odds tell of each line's company: a row for each feature."""
    outline, places, sizes = page.outline, page.places[numbers], page.sizes[numbers]
    groups = outline.groups(places)
    likely = 1 / (1 + np.exp(-first))
    weights = np.minimum(sizes, LONGEST_LINE)
    gains = weights * likely
    total = gains.sum()
    doubtful = (page.roles[numbers] & _DOUBTFUL) > 0
    manners = outline.manners
    long = gains[sizes >= FULL_LINE].sum() / total
    own = np.bincount(
        groups, np.minimum(1, sizes / FULL_LINE) * sizes * likely, len(manners)
    )
    weight = outline.sums(np.power(own, POWER))
    # Elements with more than half of the weight lie in each other; the last one is the
    # innermost.
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
    means = np.bincount(kinds, gains) / np.maximum(np.bincount(kinds, weights), 1e-9)
    return means[kinds]


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
