"""The cost model: formulas for one plan or a million."""
