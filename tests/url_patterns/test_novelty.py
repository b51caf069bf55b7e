from urllib.parse import unquote

from scrapy_simhash.url_patterns.novelty import LONGEST_PAGE, MOST_LINES, Novelty

ITEM = "http://a.test/item?id={}".format


def test_a_page_that_differs_in_known_words_and_numbers_of_its_address_says_nothing_new():
    novelty = Novelty()
    for name in ("bread", "sugar%20cane"):
        novelty.is_new(f"http://a.test/{name}", "")
    for name, is_new in [("bread", True), ("Bread", False), ("sugar_cane", False), ("17", False)]:
        title = name.replace("_", " ")
        assert novelty.is_new(ITEM(name), f"<title>{title}</title><p>Files</p>") is is_new


def test_a_page_that_says_a_new_name_of_its_address_is_new():
    novelty = Novelty()
    for name in ("ash", "elm", "oak_tree", "l%C3%A4rche"):
        title = unquote(name).replace("_", " ")
        assert novelty.is_new(ITEM(name), f"<h1>{title}</h1><p>6 degrees</p>")
    for name, is_new in [("pine", True), ("beech", False)]:
        assert novelty.is_new(ITEM(name), "<h1>Trees</h1><p>6 degrees</p>") is is_new


def test_a_page_that_shows_a_new_picture_is_new():
    novelty = Novelty()
    for n, name in enumerate(("ash", "elm", "oak")):
        counter = f'<img src="/count?{name}" alt="">'
        assert novelty.is_new(ITEM(n), f'<p>Photo {n}</p><img src="/{name}.jpg">{counter}')
        assert novelty.is_new(f"http://a.test/?n={n}", f"<p>{n}</p>{counter}") is (n == 0)


def test_a_known_line_is_not_new_without_a_word_of_the_address():
    novelty = Novelty()
    thumbnails = [f'<img src="/fetch?media={n}" alt="photo-{n}.png">' for n in "abc"]
    for name in ("photo", "png", "a", "b", "c"):
        novelty.is_new(f"http://a.test/{name}", "")
        novelty.is_new(ITEM(name), "".join(thumbnails))
    assert not novelty.is_new("http://a.test/png?id=b", "".join(thumbnails))


def test_a_page_of_too_many_lines_is_new():
    novelty = Novelty()
    for number, is_new in [(MOST_LINES - 1, False), (MOST_LINES, True)]:
        page = "".join(f"<p>{n}</p>" for n in range(number))
        novelty.is_new("http://a.test/?id=5", page)
        assert novelty.is_new("http://a.test/?id=5", page) is is_new


def test_what_scripts_hold_counts_and_links_comments_and_styles_do_not():
    novelty = Novelty()
    for n in range(1, 4):
        novelty.is_new(ITEM(n), f"<!-- a{n} --><p>Files</p><STYLE>b{n}</STYLE><A HREF=/>c{n}</A>")
    assert not novelty.is_new(ITEM(4), "<p>Files</p><a href=/>4a</a>")
    assert novelty.is_new(ITEM(5), '<p>Files</p><script>{"price": 17}</script>')
    assert novelty.is_new(ITEM(6), "<p>Files</p>".ljust(LONGEST_PAGE + 1))
    for n, tag in enumerate(("<a name=top>", "<base href=/>"), 7):
        assert novelty.is_new(ITEM(n), f"<p>Files</p>{tag}seats: {n + 90}")


def test_a_text_without_tags_is_one_line():
    novelty = Novelty()
    for price in range(100, 120):
        assert novelty.is_new(ITEM(price + 100), f'{{"price": {price}}}')
    assert not novelty.is_new(ITEM(300), '{"price": 119}')


def test_hosts_are_apart_and_what_is_no_address_is_new():
    novelty = Novelty()
    assert novelty.is_new("http://a.test/?n=1", "<p>Files</p>")
    assert novelty.is_new("http://b.test/?n=1", "<p>Files</p>")
    assert novelty.has_new_values("data:,x")
