"""Who may do what: one decision function over Cedar policies and facts of the catalog. Pure; both planes decide with it."""
