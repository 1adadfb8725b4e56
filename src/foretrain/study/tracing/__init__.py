"""Tracing: networks written in code become models; a framework is loaded only to do so."""
