"""Controllers a person can read: policy tables, decision trees, exports, and why an action is played."""
