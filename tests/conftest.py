"""How hard Hypothesis tries.

Lives here: its profiles. Must not: fixtures that one folder needs.

The profile is `HYPOTHESIS_PROFILE`, or `--hypothesis-profile`; by default `ci` where `CI` is set, else `quick`. None has a time
limit for an example: such a limit says how busy the machine is. A test with costly examples takes its settings from
`tests.support.effort`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_ANYWHERE = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

settings.register_profile("quick", _ANYWHERE)
# The same examples in every run: nobody's change is refused for what another run would not have drawn.
settings.register_profile("ci", _ANYWHERE, derandomize=True, database=None)
settings.register_profile("thorough", _ANYWHERE, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick"))
