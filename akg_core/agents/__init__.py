"""The model-driven engine: agents over any endpoint that speaks OpenAI's protocol.

Without a model everything else works; nothing outside this package imports it at its top.
"""
