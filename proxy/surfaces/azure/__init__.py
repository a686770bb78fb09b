"""Azure AI Content Safety's dialect."""
