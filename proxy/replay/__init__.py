"""What another policy would have done with the traffic that an audit has recorded."""
