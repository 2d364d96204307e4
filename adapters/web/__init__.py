"""The web process: `app.build_web` makes the application, `settings` say where it listens and who may ask."""
