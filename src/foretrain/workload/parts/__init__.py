"""Parts that transformers are made of, each a shape that says its operators."""
