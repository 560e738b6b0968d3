"""What the site is built with: one file per thing that is computed rather than written."""
