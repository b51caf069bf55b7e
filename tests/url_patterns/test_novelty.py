from __future__ import annotations

from scrapy_simhash.url_patterns.novelty import LONGEST_PAGE, Novelty

ITEM = "http://a.test/item?id={}".format


def test_a_page_that_differs_in_the_words_of_its_address_alone_says_nothing_new() -> None:
    novelty = Novelty()
    for name, is_new in [("bread", True), ("Butter", False), ("sugar%20cane", False)]:
        title = name.replace("%20", " ")
        assert novelty.is_new(ITEM(name), f"<title>{title}</title><p>Files</p>") is is_new


def test_an_item_whose_values_others_have_too_is_new() -> None:
    novelty = Novelty()
    for n in range(100, 200):
        page = f"<h1>Station {n}</h1><td>{n % 10} degrees</td><td>{n // 10} metres</td>"
        assert novelty.is_new(ITEM(n), page)


def test_known_lines_at_an_address_of_known_values_are_nothing_new() -> None:
    novelty = Novelty()
    for n in range(4):
        novelty.is_new(f"http://a.test/?a={n % 2}&b={n}", f"<p>{'xy'[n % 2]}</p><p>{n * 'z'}</p>")
    assert not novelty.is_new("http://a.test/?a=1&b=2", "<p>x</p><p>zzz</p>")
    assert novelty.is_new("http://a.test/?a=1&b=9", "<p>x</p><p>zzz</p><p>y</p>")


def test_scripts_are_no_lines_and_a_page_too_long_to_look_at_is_new() -> None:
    novelty = Novelty()
    novelty.is_new(ITEM(1), "<p>Files</p><script>1</script>")
    assert not novelty.is_new(ITEM(2), "<!-- 2 --><p>Files</p><STYLE>2</STYLE>")
    assert novelty.is_new(ITEM(3), "<p>Files</p>".ljust(LONGEST_PAGE + 1))


def test_hosts_are_apart_and_what_is_no_address_is_new() -> None:
    novelty = Novelty()
    assert novelty.is_new("http://a.test/?n=1", "<p>Files</p>")
    assert novelty.is_new("http://b.test/?n=1", "<p>Files</p>")
    assert novelty.has_new_values("data:,x")
