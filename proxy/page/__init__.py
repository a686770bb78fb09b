"""The operators' page: one file of HTML, what it shows of the last hour, and its playground."""
