"""The dialects callers speak. One folder a vendor, one file an API; none imports another vendor's."""
