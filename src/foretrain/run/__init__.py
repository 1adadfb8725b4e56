"""Run: engines that do work in other processes."""
