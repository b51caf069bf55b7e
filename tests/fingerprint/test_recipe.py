"""Recipes: their fingerprints never change, and their identity says what would change them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simhash import Simhash

from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.hashing import hash_ngrams, spread
from scrapy_simhash.fingerprint.normalisation import code_points, normalise
from scrapy_simhash.fingerprint.recipe import RECIPES, named_recipe
from scrapy_simhash.fingerprint.segmentation import ngrams
from scrapy_simhash.fingerprint.simhash import (
    BITS,
    Fingerprint,
    Sums,
    bit_sums,
    fingerprint_from_sums,
    hamming_distance,
)

GOLDEN = Path(__file__).parent / "golden"
TEXTS: dict[str, str] = json.loads((GOLDEN / "texts.json").read_text("utf-8"))
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)


def distance(a: Fingerprint, b: Fingerprint) -> int:
    return hamming_distance(a.value, b.value)


@every_recipe
def test_golden_fingerprints(recipe):
    """A fingerprint, a block value or an identity that changes makes every stored index useless.

    Python salts its own string hashes in each process that runs this: they play no part.

    If it has to, raise the version of the algorithm in ``recipe.py`` and write the file anew. The
    recipe ``pypi`` goes without the letters of Unicode 14: the package itself takes them for
    letters or for separators, depending on the Python version.
    """
    golden = json.loads((GOLDEN / f"{recipe.name}.json").read_text("utf-8"))
    names = TEXTS.keys() - ({"letters of Unicode 14"} if recipe.name == "pypi" else set())
    prints = {name: recipe.fingerprint(text) for name, text in TEXTS.items() if name in names}
    assert golden == {
        "identity": recipe.identity,
        "fingerprints": {name: str(own) for name, own in prints.items()},
        "blocks": {name: own.blocks.hex() for name, own in prints.items()},
    }


@pytest.mark.parametrize("times", [51, 5000])
def test_pypi_counts_any_number_of_repeats(times):
    """Where the package itself fails, above 255 repeats with NumPy 2, the sums are still right."""
    grams = [("aaaa", times), ("aaab", 1)]
    expected = Simhash([gram for gram, n in grams for _ in range(n)]).value
    assert named_recipe("pypi").fingerprint("a" * (times + 3) + "b").value == expected


def test_an_empty_text_has_the_fingerprint_of_nothing_and_all_block_values():
    for recipe in RECIPES.values():
        if recipe.name != "pypi":  # there an empty text is one feature, the empty string
            assert recipe.fingerprint(" ").value == recipe.nothing
        assert len(recipe.fingerprint(" ").blocks) == 4 * recipe.blocks.count


def test_identity_names_what_changes_a_fingerprint():
    base = RECIPES["default"]
    same = [replace(base, name="mine"), replace(base, distance=40), replace(base, min_length=7)]
    assert {recipe.identity for recipe in same} == {base.identity}
    others = [
        replace(base, bits=128, distance=22),
        replace(base, extractor="text"),
        replace(base, hash="xxh3"),
        replace(base, seed="secret"),
        replace(base, seed="other secret"),
        replace(base, spec=FeatureSpec("characters", 4)),
        replace(base, spec=FeatureSpec("characters", 5, "sqrt")),
        replace(base, spec=FeatureSpec("words", 5)),
        replace(base, bits=64, distance=3),
        replace(base, sign=">="),
        *(replace(base, content={"": selector}) for selector in ("p", "div")),
        *(replace(base, ignore={host: "p"}) for host in ("", "a.example")),
    ]
    assert len({recipe.identity for recipe in [base, *others]}) == 1 + len(others)


def test_a_seed_changes_the_fingerprint_and_stays_secret():
    plain, seeded = RECIPES["default"], replace(RECIPES["default"], seed="hunter2-secret")
    assert distance(*(r.fingerprint(TEXTS["english"]) for r in (plain, seeded))) > 64
    assert "hunter2" not in repr(seeded) + seeded.identity
    assert replace(plain, seed="").identity == plain.identity


def test_blocks_follow_from_width_and_distance():
    """64 bits have slices as far as these find every pair, everything else has bands."""
    assert str(RECIPES["classic"].blocks) == "slices:4"
    assert str(replace(RECIPES["classic"], distance=4).blocks) == "bands:14x4"
    assert str(replace(RECIPES["default"], bits=64, distance=3).blocks) == "slices:4"
    assert str(RECIPES["default"].blocks) == str(RECIPES["compact"].blocks) == "bands:14x4"


def test_unknown_recipes_and_impossible_distances_are_refused_in_one_line():
    with pytest.raises(ValueError, match="unknown recipe 'soup'; there are default, compact, cl"):
        named_recipe("soup")
    for distance in (17, -1):
        with pytest.raises(ValueError, match=f"between 0 and 16 for 64 bits, not {distance}$"):
            replace(RECIPES["classic"], distance=distance)


def slow_grams(text: str, n: int, weights: Sequence[int]) -> dict[str, float]:
    """Give each n-gram the greatest weight of the lines in which it stands."""
    grams: dict[str, float] = {}
    lines = normalise(text, by_line=True).split("\n")
    for weight, line in sorted(zip(weights, lines, strict=False)):
        if len(line) >= n:
            grams |= dict.fromkeys(ngrams(line, n), float(weight))
    return grams or dict.fromkeys(ngrams(normalise(text), n), 1.0)


def slow_sums(grams: Mapping[str, float], bits: int, seed: str | None = None) -> Sums:
    values = [hash_ngrams(code_points(gram), len(gram), seed)[0] for gram in grams]
    lanes = spread(np.array(values, np.uint64), bits)
    return Sums(bit_sums(lanes, np.array(list(grams.values())))[-bits:], lanes[0])


@given(
    st.lists(st.tuples(st.text(st.sampled_from("ab字𠮷 ,É"), max_size=20), st.integers(1, 3))),
    st.integers(1, 7),
    st.sampled_from(BITS),
    st.sampled_from([None, "secret"]),
)
def test_the_fast_path_weighs_lines_as_the_slow_one(lines, n, bits, seed):
    """The sums of a text at once are those of the features that explain it."""
    spec = FeatureSpec("characters", n)
    recipe = replace(RECIPES["default"], spec=spec, bits=bits, distance=3, seed=seed)
    text, weights = "\n".join(line for line, _ in lines), [weight for _, weight in lines]
    slow = slow_sums(slow_grams(text, n, weights), bits, seed)
    for normal in (None, normalise(text, by_line=bool(weights))):
        assert recipe.sums(text, weights, normal).values.tobytes() == slow.values.tobytes()
    fast, slow = recipe.sums(text), slow_sums(recipe.features(text), bits, seed)
    assert fast.values.tobytes() == slow.values.tobytes()
    assert sorted(fast.hashes) == sorted(slow.hashes)
    value = fingerprint_from_sums(slow.values)
    assert recipe.fingerprint(text) == Fingerprint(value, bits)


@pytest.mark.parametrize("name", ["default", "classic"])
def test_lines_of_less_than_half_of_the_weight_give_no_block_values(name):
    """A page is found by the lines that are surely its text; the classics take no others."""
    recipe = named_recipe(name)
    text, more = TEXTS["english"].replace("\n", " "), TEXTS["chinese"].replace("\n", " ")
    plain = recipe.fingerprint(text, [3])
    weighed = recipe.fingerprint(f"{text}\n{more}", [3, 1])
    assert weighed.blocks == plain.blocks
    if name == "default":
        assert 0 < distance(weighed, plain) < distance(recipe.fingerprint(text + more), plain)
    else:
        assert weighed == plain
