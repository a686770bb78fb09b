"""Amazon Bedrock's dialect."""
