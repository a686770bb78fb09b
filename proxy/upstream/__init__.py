"""The models behind the proxy, reached by pass-through or through LiteLLM."""
