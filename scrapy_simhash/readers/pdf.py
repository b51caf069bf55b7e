"""The text of PDF files, by pdfium: ``pip install "scrapy-simhash[pdf]"``."""

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.readers.text import text_alone

_MOST_PAGES = 300
_MOST_TEXT = 1_000_000  # characters


def read_pdf(data: bytes, _: str | None) -> Extraction | None:
    """Return the text of the first pages; a file without text, such as a scan, passes."""
    import pypdfium2

    texts, size = list[str](), 0
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:  # damaged, or locked by a password
        return None
    try:
        for number in range(min(len(document), _MOST_PAGES)):
            page = document[number]
            try:
                part = page.get_textpage()
                texts.append(part.get_text_bounded())
                part.close()
            finally:
                page.close()
            size += len(texts[-1])
            if size > _MOST_TEXT:
                break
    except pypdfium2.PdfiumError:
        pass  # the pages before the damaged one count
    finally:
        document.close()
    text = "\n".join(texts)[:_MOST_TEXT].replace("\r", "\n")
    return text_alone(text) if text.strip() else None
