#!/bin/sh
# Stands before Debian's invoke-rc.d while muster installs packages: a service
# that runs may be restarted, none is started.
set -eu
service='' action=''
for word; do
	case $word in
	-*) ;;
	*) if [ -z "$service" ]; then service=$word; elif [ -z "$action" ]; then action=$word; fi ;;
	esac
done
case $action in
restart | try-restart | condrestart | reload | force-reload)
	if /usr/sbin/invoke-rc.d --quiet "$service" status >/dev/null 2>&1; then
		exec /usr/sbin/invoke-rc.d "$@"
	fi
	;;
esac
echo "$service: left as it is ($action)"
