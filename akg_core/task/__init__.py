"""A reference file becomes a Task: load, scale, capture, examine, and draw what it is judged on."""
