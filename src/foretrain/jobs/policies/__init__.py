"""Scheduling policies, a file each; `foretrain.jobs.policies.table` names them all."""
