"""What every test here may use is what those of the product have: tests/python/fixtures.py."""

from fixtures import (  # noqa: F401 - fixtures and hooks
    legato,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_protocol,
    pytest_runtest_setup,
)
