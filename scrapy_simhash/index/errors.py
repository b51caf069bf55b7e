"""Why an index cannot do what was asked."""


class StoreError(Exception):
    """The index cannot do what was asked; the message says what to do."""


class StoreMismatch(StoreError):
    """The stored index was made by another recipe, width, number of blocks or format."""


class StoreDamaged(StoreError):
    """The store holds no index of this package, or a damaged one."""


class StoreMissing(StoreError):
    """There is no index where one was expected."""


class StoreRefused(StoreError):
    """The place or the credentials in the URL are wrong, so waiting does not help."""


class StoreUnavailable(StoreError):
    """The store is away, full, locked or read-only; the same call may work later."""
