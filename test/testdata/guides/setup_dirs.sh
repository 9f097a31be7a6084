# setup_dirs.sh
#!/bin/bash

# 로그 파일 설정
LOGFILE="/var/log/parallelcluster/setup_dirs.log"
mkdir -p /var/log/parallelcluster
exec 1> >(tee -a "$LOGFILE") 2>&1

echo "Starting directory setup at $(date)"

# FSx 마운트 포인트가 준비될 때까지 대기
echo "Checking FSx mount points..."
for i in {1..30}; do  # 최대 5분 대기 (10초 × 30)
    if mountpoint -q /fsx1 && mountpoint -q /fsx2 && mountpoint -q /fsx3; then
        echo "All FSx mount points are ready"
        break
    fi
    echo "Waiting for FSx mount points... Attempt $i/30"
    sleep 10
done

# 마운트 상태 최종 확인
if ! mountpoint -q /fsx1 || ! mountpoint -q /fsx2 || ! mountpoint -q /fsx3; then
    echo "Error: FSx mount points not ready after timeout"
    exit 1
fi

# FSx 마운트 정보 기록
echo "FSx mount details:"
df -h | grep fsx

# 디렉토리 구조 생성
echo "Creating directory structure..."

# 데이터셋 디렉토리 (/fsx1)
mkdir -p /fsx1/datasets
chmod 775 /fsx1/datasets

# 모델별 디렉토리 생성 (/fsx2, /fsx3)
for i in {1..7}; do
    # 체크포인트 및 출력 디렉토리
    mkdir -p /fsx2/model${i}/{checkpoints,outputs}
    chmod -R 775 /fsx2/model${i}

    # 로그 디렉토리
    mkdir -p /fsx3/model${i}/{training_logs,tensorboard}
    chmod -R 775 /fsx3/model${i}
done

# 소유권 설정
echo "Setting ownership..."
chown -R ec2-user:ec2-user /fsx1
chown -R ec2-user:ec2-user /fsx2
chown -R ec2-user:ec2-user /fsx3

# 디렉토리 구조 확인
echo "Created directory structure:"
echo "FSx1 (datasets):"
tree -L 2 /fsx1
echo "FSx2 (checkpoints/outputs):"
tree -L 3 /fsx2
echo "FSx3 (logs):"
tree -L 3 /fsx3

echo "Directory setup completed at $(date)"

# 권한 확인
echo "Verifying permissions..."
ls -la /fsx1
ls -la /fsx2
ls -la /fsx3

echo "Setup completed successfully"
