"""The Kokoro text-to-speech server: an ASGI application for Amazon SageMaker AI and for a laptop."""
