from dataclasses import dataclass
@dataclass
class CaughtUp:
    let_through: int = 0
    reconciled: int = 0
    duplicates: int = 0
    more: bool = False
class Outage:
    def __init__(self, open_store, spec, *, pages, start_without=True):
        self._s=open_store(); self.spec=spec
    away=False; refused=None; left=0
    def catch_up(self,*,at_once=False): return CaughtUp()
    def __getattr__(self,n): return getattr(self._s,n)
    def __len__(self): return len(self._s)
