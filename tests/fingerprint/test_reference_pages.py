"""Pages of reference manuals: they share a template and most of a text, and none is a copy."""

import pytest

from scrapy_simhash import Document, SyncDedup

METHOD = (
    "<p>Atomically sets the value to {0} and returns the previous value, with memory effects as"
    " specified by the handle of method number {1} in the table of all access modes.</p>"
)


def manual(title: str, head: str, name: str, methods: int = 30) -> str:
    texts = ("the sum of both", "the given update")
    body = f"<p>A value of type {name} that may be updated atomically.</p>" + "".join(
        METHOD.format(texts[number % 2], number * number + 7) for number in range(methods)
    )
    return f"<html><head><title>{title}</title></head><body>{head}<main>{body}</main></body></html>"


def longer(name: str) -> str:
    return manual(f"{name} (Java 17)", f"<h1>Class {name}</h1>", name)


def operator(sign: str) -> str:
    return manual(f"operator{sign}", f"<h1>operator{sign}</h1>", f"operator{sign}", 4)


def members(name: str) -> str:
    head = f'<div class="header"><div class="title">{name} Member List</div></div>'
    return manual("VTK: Member List", head, name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (longer("AtomicInteger"), longer("AtomicLong")),
        (operator("&lt;"), operator("++")),
        (members("vtkImageAppend"), members("vtkImageGradient")),
    ],
    ids=["long siblings", "names that differ in signs", "names in an element of the class title"],
)
def test_siblings_are_two_pages(one, other):
    with SyncDedup(processes=0) as dedup:
        for number, page in enumerate((one, other)):
            verdict = dedup.check(Document(f"http://docs.test/{number}.html", page))
            assert verdict.kind == "unique"
