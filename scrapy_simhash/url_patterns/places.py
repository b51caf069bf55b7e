"""The places of one host's addresses: the segments of paths, the values of parameters.

A place that had many different values is starred, since its values are names or numbers of pages,
and addresses that differ in nothing else belong together. Any program that shows records needs
this: the topics of a board, the articles of a wiki.
"""

from scrapy_simhash.url_patterns.address import MANY_VALUES, STAR, Address, shape

#: Places of a host that are kept; when there are more, all but those in its rows are forgotten.
MOST_PLACES = 1000


class Places:
    """The places of one host, as its addresses and signatures have shown them.

    Attributes:
        has_starred: whether earlier signatures may have another form now; the caller resets it.
    """

    def __init__(self) -> None:
        # Places are hashes of what leads to them and of their star, since names take more memory.
        self._values: dict[int, set[str]] = {}
        self._starred: set[int] = set()
        self.has_starred = False

    def __len__(self) -> int:
        return len(self._values) + len(self._starred)

    def signature(self, address: Address, *, learn: bool = False) -> tuple[str, list[str]]:
        """Return the signature of an address, or the present one of an earlier signature.

        It has no host. Beside it stand the values at starred places, but for tokens, which differ
        even where pages are the same. With ``learn``, values are remembered.
        """
        starred: list[str] = []

        def joined(place: str, values: tuple[str, ...]) -> str:
            begun = len(place)
            for value in values:
                form = self._form(place, value, learn)
                if form != value and shape(value).kind != "token":
                    starred.append(value)
                place = f"{place}/{form}"
            return place[begun:]

        path = joined("", address.path)
        if not address.parameters:
            return path, starred
        # A name may stand for different things beside different names.
        place = f"{path}?{'&'.join(name for name, _ in address.parameters)}"
        pairs = {
            f"{name}={joined(f'{place}?{name}', values)[1:]}" for name, values in address.parameters
        }
        return f"{path}?{'&'.join(sorted(pairs))}", starred

    def _form(self, place: str, value: str, learn: bool) -> str:
        """Return a value as it stands in a signature: itself, or its star."""
        kind, star = shape(value)
        name = hash((place, star))
        if learn and kind == STAR:
            self._star(name)
        elif learn and kind in MANY_VALUES and name not in self._starred:
            values = self._values.setdefault(name, set())
            values.add(value)
            if len(values) > MANY_VALUES[kind]:
                self._star(name)
        return value if kind in MANY_VALUES and name not in self._starred else star

    def _star(self, name: int) -> None:
        self.has_starred |= name not in self._starred
        self._starred.add(name)
        self._values.pop(name, None)
