"""What the admin pages of all apps share: who sees which rows, columns with links and counts, confirmed acts."""
