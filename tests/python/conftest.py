"""What every test here may use comes from fixtures.py, which the tests of studies/ share."""

from fixtures import (  # noqa: F401 - fixtures and hooks
    legato,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_protocol,
    pytest_runtest_setup,
    tool,
)
