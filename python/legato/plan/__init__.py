"""What is typed becomes a plan: names, lists, patterns and ``key=value``, as a run folder keeps them too."""

from legato.plan.plan import LOGS, Plan, assignments, controllers, make, read_scenario, trace_addresses, traces

__all__ = ["LOGS", "Plan", "assignments", "controllers", "make", "read_scenario", "trace_addresses", "traces"]
