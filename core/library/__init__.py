"""A team's own papers: what is kept of them, how they are searched, and how an answer cites their pages."""
