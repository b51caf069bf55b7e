"""An address is taken apart, and freed of what only names a visit."""

import re
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

# Parameters that are no part of a page's name. They name the link by which a visitor came, the page
# to which a form leads back, the session of the visit by a long number, or the moment, so that no
# cache answers; or they have no value, because a form sends them for fields that nobody filled in.
# Sessions stand in paths, too. Others sign a request, or put into a cart or on a list what the page
# shows. AMP is another form of a page.
_VISIT = re.compile(
    r"(?:(?<=[?&])(?:(?:(?:utm|mtm|hsa|vero|oly)_\w{1,20}|(?:pk|piwik|matomo)_(?:campaign|kwd|keyword"
    r"|source|medium|content|[cv]id)|fb_(?:action_\w{1,9}|source|ref)|_hs(?:mi|enc)|__hs\w{2,4}"
    r"|hsctatracking|at_(?:medium|campaign)|[a-z]{1,4}clid|[gw]braid|gad_source|srsltid|mc_[ce]id"
    r"|(?:rdt|s)_cid|s_kwcid|ef_id|_g[al]|spm|igshid|igsh|li_fat_id|epik|mkt_tok|wt[._]mc\w*"
    r"|_openstat|dm_i|elqtrack\w*|cmpid|icid|_?wpnonce|sectok|csrf_?token|itok|x-amz-[\w-]{1,20}"
    r"|add[-_]to[-_](?:wishlist|cart|compare))=[^&]*"
    r"|(?:s|sid|\w{0,20}sess\w{0,20}|oscsid|zenid)=(?=[a-z]*\d)[a-z\d]{16,}"
    r"|(?:sig|signature|token|hmac|nonce)=[\w.~%+/-]{16,}={0,2}"
    r"|cfid=\d+|cftoken=[\w-]+|_=\d+|(?:_?ts?|timestamp|v|ver|expires)=\d{9,}"
    r"|(?:return_?(?:to(?:query)?|url)|redirect_?to|came_?from|back_?url)=[^&]*"
    r"|(?:no_?cache|cache_?bust(?:er)?|cb|ra?nd(?:om)?)=[\d.]{5,}|amp=(?:1|true)|output(?:type)?=amp"
    r"|[^=&]{1,99}(?<!\d)=(?=&|$))"
    r"|;(?:jsessionid|cfid|cftoken)=[\w.!-]*)(?:&|$)?|/\((?:[A-Z]\([^()/]{9,99}\)){1,4}\)(?=/)",
    re.IGNORECASE,
)


def without_visit(address: str) -> str:
    """Return an address without marks of a visit, and with each of its parameters once."""
    # Most addresses have no place for such a mark, and a search for one takes longer.
    if "?" not in address and ";" not in address and "(" not in address:
        return address
    place, mark, query = _VISIT.sub("", address).rstrip("?&").partition("?")
    return f"{place}{mark}{'&'.join(dict.fromkeys(query.split('&')))}" if query else place


@lru_cache(maxsize=4096)
def split_address(text: str) -> SplitResult | None:
    """Return the parts of an http address; None if a text is no such address."""
    try:
        parts = urlsplit(text)
        return parts if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:  # such as http://[
        return None


def host_of(url: str) -> str:
    """Return the host of an http address, with its port if it names one; empty if it has none."""
    parts = split_address(url)
    return parts.netloc.rpartition("@")[2].lower() if parts else ""
