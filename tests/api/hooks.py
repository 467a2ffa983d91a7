"""What schemathesis leaves out; loaded by it (SCHEMATHESIS_HOOKS)."""

import schemathesis


@schemathesis.hook
def filter_case(context, case):
    """A watch answers for as long as the client wishes."""
    return "watch" not in (case.query or {})
