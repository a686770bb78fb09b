"""What operators see: metrics and logs, both fed by one record an exchange."""
