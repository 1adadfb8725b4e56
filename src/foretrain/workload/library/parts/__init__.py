"""The parts that networks of attention are composed of: one file per noun, with its operators."""
