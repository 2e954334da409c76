"""
How many random inputs a property is tested with.

`scripts/test` takes few of them, to be run after each change; `scripts/test-security` sets FIM_FUZZ: so many times as many.
"""

from __future__ import annotations

import os

EXAMPLES = 20  # of each property
FUZZ = int(os.environ.get("FIM_FUZZ", "1"))
