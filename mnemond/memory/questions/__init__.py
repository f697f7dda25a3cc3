"""Questions to a language model: what is asked, which answers are believed, and the write that follows from one."""
