"""``turnfold``, in which a store that answers has all the time it needs.

It is a command line for tests that look at what a server says when nothing is wrong: on a busy machine a store takes longer than
the tenth of a second for which a request waits, and the server says so. For a server in the tests' own process there is
``tests.proxy.harness.unhurried``.
"""

from __future__ import annotations

from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.cli import main

StoreSettings.model_fields["timeout"].default = 20.0
StoreSettings.model_rebuild(force=True)
Settings.model_fields["store"].default = StoreSettings()
Settings.model_rebuild(force=True)

if __name__ == "__main__":
    main()
