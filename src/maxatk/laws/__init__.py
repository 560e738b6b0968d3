"""Laws of returns under a policy: carried forward, exactly or between bounds, or drawn from."""
