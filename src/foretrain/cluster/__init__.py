"""Where: devices, links in levels, storage, prices, power."""
