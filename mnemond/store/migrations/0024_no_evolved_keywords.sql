-- Words of neighbours by which memories were found: nothing reads or writes them any more, and a purge would leave them.
UPDATE insights SET evolved_keywords = NULL WHERE evolved_keywords IS NOT NULL;
