"""The oracle of Kahira et al.: its printed outputs, and the runs that it was held against."""
