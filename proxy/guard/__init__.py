"""The story: forward a request, assess the answer, pass or block it, leave a record."""
