"""Texts, those of PDF files too, and documents of which nothing is known but their bytes.

PDF files are read by pdfium: ``pip install "scrapy-simhash[pdf]"``.
"""

from contextlib import closing
from hashlib import shake_128

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.extractor import Extraction

MOST_TEXT = 1_000_000  # characters that are fingerprinted
_MOST_PAGES = 300
# Letters, because a text is compared without its digits.
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_DIGEST = 128  # bytes; short texts have no fingerprint


def text_alone(text: str) -> Extraction:
    """Return a text that is all that its document shows; its first line names it."""
    first = next((line.strip() for line in text[:10_000].split("\n") if line.strip()), "")
    return Extraction(text, thin=True, shown=text, labels=(first[:300],), content=text)


def read_text(data: bytes, charset: str | None) -> Extraction:
    return text_alone(decode_html(data, charset).replace("\r", "\n").replace("\0", " "))


def read_pdf(data: bytes, _: str | None) -> Extraction | None:
    """Return the text of the first pages; a file without text, such as a scan, passes."""
    import pypdfium2

    texts, size = list[str](), 0
    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            for number in range(min(len(document), _MOST_PAGES)):
                page = document[number]
                texts.append(page.get_textpage().get_text_bounded())
                page.close()
                size += len(texts[-1])
                if size > MOST_TEXT:
                    break
    except pypdfium2.PdfiumError:
        pass  # damaged, or locked by a password; the pages before the damaged one count
    text = "\n".join(texts)[:MOST_TEXT].replace("\r", "\n")
    return text_alone(text) if text.strip() else None


def in_letters(data: bytes, size: int = 16) -> str:
    """Return a digest of so many bytes, two letters each."""
    return shake_128(data).hexdigest(size).translate(_LETTERS)


def read_bytes(data: bytes, _: str | None) -> Extraction | None:
    """Return a digest, which only exact copies share."""
    return Extraction(in_letters(data, _DIGEST), thin=True) if data else None
