"""Schedulers written from their rules, beside ours."""
