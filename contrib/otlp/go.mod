module oarlock/contrib/otlp

go 1.26.0
