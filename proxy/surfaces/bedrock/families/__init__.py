"""The bodies of InvokeModel: each maker's own words for the same things."""
