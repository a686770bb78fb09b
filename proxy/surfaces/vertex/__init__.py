"""Google's dialect: check grounding of Vertex AI Search, and corroborateContent of Vertex AI."""
